import { basename } from 'node:path';
import type { ResultFormat } from '../checks/index.ts';

const program = /^(?:python(?:\d+(?:\.\d+)*)?|pypy(?:\d+(?:\.\d+)*)?|pytest|py\.test|pytest-\d+|tox|nox|trial|nose2)$/;

const nodeProgram = /^(?:node(?:js)?|npm|npx|pnpm|pnpx|yarn|corepack|mocha|ava|tap|tape|uvu|c8|nyc)$/;
const nodeFile = /\.[cm]?[jt]s$/;

/** Programs of a command; a shell's command line is one word of it. */
function programs(command: readonly string[]): readonly string[] {
  return command.flatMap((word) => word.split(/[\s;&|()"'=]+/));
}

/** Whether a check's command is going to run JavaScript or TypeScript on Node: reported as for Python. */
export function runsNode(command: readonly string[], format?: ResultFormat): boolean {
  if (format === 'NodeTest') return true;
  if (format === 'GoTest' || format === 'Pytest' || format === 'Unittest') return false;
  return programs(command).some((word) => nodeProgram.test(basename(word)) || nodeFile.test(word));
}

/**
 * Whether a check's command is going to run Python tests: what its baseline printed says so, or a word of it does. A
 * command that hides it (`make test`) is only known by its format.
 */
export function runsPython(command: readonly string[], format?: ResultFormat): boolean {
  if (format === 'Pytest' || format === 'Unittest') return true;
  if (format === 'GoTest' || format === 'NodeTest') return false;
  return programs(command).some((word) => program.test(basename(word)) || word.endsWith('.py'));
}
