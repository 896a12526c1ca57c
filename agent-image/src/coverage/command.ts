import { basename } from 'node:path';
import type { ResultFormat } from '../checks/index.ts';

const program = /^(?:python(?:\d+(?:\.\d+)*)?|pypy(?:\d+(?:\.\d+)*)?|pytest|py\.test|pytest-\d+|tox|nox|trial|nose2)$/;

/**
 * Whether a check's command is going to run Python tests: what its baseline printed says so, or a word of it does. A
 * command that hides it (`make test`) is only known by its format.
 */
export function runsPython(command: readonly string[], format?: ResultFormat): boolean {
  if (format === 'Pytest' || format === 'Unittest') return true;
  if (format === 'GoTest' || format === 'NodeTest') return false;
  // A shell's command line is one word of the command.
  return command.flatMap((word) => word.split(/[\s;&|()"'=]+/)).some((word) => program.test(basename(word)) || word.endsWith('.py'));
}
