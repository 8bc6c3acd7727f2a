// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads {"name": dashboard} on standard input, checks each against the type in dashboard.ts as a literal, so that fields that no type
// knows are errors too, and writes {"name": ["what is wrong"]}.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const here = dirname(fileURLToPath(import.meta.url));
const options = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  exactOptionalPropertyTypes: false,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  types: [],
};

const dashboards = JSON.parse(readFileSync(0, 'utf8'));
const literals = new Map();
for (const [name, dashboard] of Object.entries(dashboards)) {
  const text = `import type { Dashboard } from './dashboard';\nexport const d: Dashboard = ${JSON.stringify(dashboard, null, 1)};\n`;
  literals.set(join(here, `literal-${literals.size}.ts`), { name, text });
}

const host = ts.createCompilerHost(options);
const { fileExists, readFile } = host;
host.fileExists = (path) => literals.has(path) || fileExists(path);
host.readFile = (path) => literals.get(path)?.text ?? readFile(path);

const program = ts.createProgram([...literals.keys()], options, host);
const broken = program.getSyntacticDiagnostics().concat(program.getGlobalDiagnostics(), program.getSemanticDiagnostics(program.getSourceFile(join(here, 'dashboard.ts'))));
if (broken.length > 0) {
  console.error(ts.formatDiagnostics(broken, { getCanonicalFileName: (f) => f, getCurrentDirectory: () => here, getNewLine: () => '\n' }));
  process.exit(1);
}
const result = {};
for (const [path, { name, text }] of literals) {
  result[name] = program.getSemanticDiagnostics(program.getSourceFile(path)).map((d) => {
    const line = text.slice(0, d.start).split('\n').length - 1;
    return `${text.split('\n')[line].trim()} ${ts.flattenDiagnosticMessageText(d.messageText, ' ')}`;
  });
}
console.log(JSON.stringify(result));
