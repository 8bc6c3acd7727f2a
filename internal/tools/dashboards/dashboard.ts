// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// A dashboard of Grafana whose panels are exactly those that metrics/manifest writes. Grafana's Dashboard says Record<string, unknown>
// of the options, styles and queries of a panel, so it lets every misspelt field pass; here each panel is composed with the types of its
// own plugin.

import type { Dataquery } from '@grafana/grafana-foundation-sdk/prometheus';
import type { Dashboard as Loose, FieldConfig, GridPos, VariableModel } from '@grafana/schema';
import type { Options as StatOptions } from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type {
  FieldConfig as LineStyle,
  Options as LineOptions,
} from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';

// Plain lets the values of string enums be written as they stand in JSON.
type Plain<T> = T extends string ? `${T}` : T extends (infer U)[] ? Plain<U>[] : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;

type Source = { type: 'prometheus'; uid: '${datasource}' };

// Those of Grafana's units that an expression of the catalogue can have.
type Unit = 's' | 'ops' | 'percentunit' | 'bytes' | 'short';

type Query = Required<Pick<Plain<Dataquery>, 'refId' | 'expr' | 'legendFormat' | 'interval' | 'editorMode' | 'range' | 'instant' | 'exemplar'>> & {
  datasource: Source;
};

type Shared = {
  id: number;
  title: string;
  description: string;
  gridPos: GridPos;
  datasource: Source;
  targets: [Query, ...Query[]];
};

type Fields<Style> = {
  defaults: Omit<Plain<FieldConfig>, 'custom' | 'unit'> & { unit: Unit } & Style;
  overrides: never[];
};

type Stat = Shared & { type: 'stat'; options: Plain<StatOptions>; fieldConfig: Fields<{ custom?: never }> };
type Lines = Shared & { type: 'timeseries'; options: Plain<LineOptions>; fieldConfig: Fields<{ custom: Plain<LineStyle> }> };
type Row = { type: 'row'; id: number; title: string; gridPos: GridPos; collapsed: false; panels: never[] };

type Choice = Omit<Plain<VariableModel>, 'query' | 'type' | 'datasource' | 'refresh' | 'multi' | 'allValue'> & (
  | { type: 'datasource'; query: 'prometheus'; refresh: 1; multi: false }
  | { type: 'query'; query: { query: string; refId: string }; definition: string; datasource: Source; allValue: '.*' | '.+'; refresh: 2; multi: true }
);

export type Dashboard = Omit<Plain<Loose>, 'panels' | 'templating'> & {
  uid: string;
  editable: false;
  templating: { list: Choice[] };
  panels: (Row | Stat | Lines)[];
};
