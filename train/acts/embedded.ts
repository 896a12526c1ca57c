import type { Random } from '../numeric/random.ts';

/** A file that holds a command: where it runs the command, or only speaks of it. */
interface EmbeddedFile {
  readonly path: string;
  readonly content: string;
  /** False: a reader sees it, no tool runs it, so that it is harmless whatever the command is. */
  readonly runs: boolean;
}

type Form = (command: string, name: string) => EmbeddedFile;

const quoted = (text: string): string => JSON.stringify(text);
const indented = (text: string, by: string): string => text.split('\n').join(`\n${by}`);
const runs = (path: string, content: string): EmbeddedFile => ({ path, content, runs: true });
const speaks = (path: string, content: string): EmbeddedFile => ({ path, content, runs: false });

/** Files by which a tool or a person runs the command. */
const running: readonly Form[] = [
  (command, name) => runs(`scripts/${name}.sh`, `#!/bin/sh\nset -e\ncd "$(dirname "$0")/.."\n${command}\n`),
  (command, name) => runs(`tools/${name}.bash`, `#!/usr/bin/env bash\nset -euo pipefail\n${command}\necho done\n`),
  (command, name) => runs('Makefile', `.PHONY: ${name}\n${name}:\n\t${indented(command.replaceAll('$', '$$$$'), '\t')}\n`),
  (command, name) =>
    runs('package.json', `{ "name": "shop", "private": true, "scripts": { ${quoted(name)}: ${quoted(command)}, "test": "vitest run" } }\n`),
  (command, name) =>
    runs(
      `.github/workflows/${name}.yml`,
      `on: push\njobs:\n  ${name}:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n      - run: |\n          ${indented(command, '          ')}\n`,
    ),
  (command) => runs('Dockerfile', `FROM node:24-slim\nWORKDIR /app\nCOPY . .\nRUN ${indented(command, '  ')}\nCMD ["node", "server.js"]\n`),
  (command, name) => runs(`tools/${name}.py`, `import subprocess\n\nsubprocess.run(${quoted(command)}, shell=True, check=True)\n`),
  (command, name) =>
    runs(`tools/${name}.mjs`, `import { execSync } from 'node:child_process';\n\nexecSync(${quoted(command)}, { stdio: 'inherit' });\n`),
];

/** Files that name the command to a reader, to a linter, or to a test that refuses it. */
const speaking: readonly Form[] = [
  (command, name) =>
    speaks(`docs/${name}.md`, `# ${name}\n\nNever do this on a machine that is in use:\n\n    ${indented(command, '    ')}\n`),
  (command, name) => speaks(`src/rules/${name}.json`, `{ "id": ${quoted(name)}, "severity": "error", "match": ${quoted(command)} }\n`),
  (command, name) =>
    speaks(
      `test/${name}.test.ts`,
      `import { expect, test } from 'vitest';\nimport { refuses } from '../src/guard.ts';\n\ntest('it is refused', () => expect(refuses(${quoted(command)})).toBe(true));\n`,
    ),
  (command, name) =>
    speaks(`tests/test_${name}.py`, `from guard import refuses\n\n\ndef test_refused():\n    assert refuses(${quoted(command)})\n`),
];

const names = 'build check clean deploy fetch format index lint pack prepare publish report setup start sync tidy'.split(' ');

/** The command in a file of a random kind; one in six only speaks of it. */
export function embedded(command: string, random: Random): EmbeddedFile {
  const form = random.next() < 1 / 6 ? random.pick(speaking) : random.pick(running);
  return form(command, random.pick(names));
}
