# Copyright The controllerkit Authors.
# SPDX-License-Identifier: Apache-2.0

# Prints the targets of a Makefile that have a comment, below the groups that the lines with ##@ name.
/^##@ / {
	group = substr($0, 5)
	if (!(group in help)) groups[++n] = group
}
/^[a-z0-9 -]+:.*## / {
	split($1, names, " ")
	help[group] = help[group] sprintf("  %-18s %s\n", names[1], $2)
}
END {
	for (i = 1; i <= n; i++) printf "%s%s:\n%s", (i > 1 ? "\n" : ""), groups[i], help[groups[i]]
}
