import { basename } from 'node:path';
import type { ResultFormat } from '../checks/index.ts';

const program = /^(?:python(?:\d+(?:\.\d+)*)?|pypy(?:\d+(?:\.\d+)*)?|pytest|py\.test|pytest-\d+|tox|nox|trial|nose2)$/;

const nodeProgram = /^(?:node(?:js)?|npm|npx|pnpm|pnpx|yarn|corepack|mocha|ava|tap|tape|uvu|c8|nyc)$/;
const nodeFile = /\.[cm]?[jt]s$/;

/** Programs of a command; a shell's command line is one word of it. */
function programs(command: readonly string[]): readonly string[] {
  return command.flatMap((word) => word.split(/[\s;&|()"'=]+/));
}

/** Reports whether a check's command runs JavaScript or TypeScript on Node: decided as for Python. */
export function runsNode(command: readonly string[], format?: ResultFormat): boolean {
  if (format === 'NodeTest') return true;
  if (format === 'GoTest' || format === 'Pytest' || format === 'Unittest') return false;
  return programs(command).some((word) => nodeProgram.test(basename(word)) || nodeFile.test(word));
}

/**
 * Reports whether a check's command runs Python tests: by its baseline's output or a word of the command. A command
 * that hides it (`make test`) is only known by its format.
 */
export function runsPython(command: readonly string[], format?: ResultFormat): boolean {
  if (format === 'Pytest' || format === 'Unittest') return true;
  if (format === 'GoTest' || format === 'NodeTest') return false;
  return programs(command).some((word) => program.test(basename(word)) || word.endsWith('.py'));
}
