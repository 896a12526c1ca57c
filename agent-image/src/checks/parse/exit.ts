// agent-image, checks/parse: result of a check by its exit code alone. Imports no other folder of the worker.
import { wholeRun, type CommandOutput, type ParsedResults } from './results.ts';
import { Collector } from './collector.ts';

/** Reads nothing: the command passes with exit code 0. */
export function parseExit({ exitCode }: CommandOutput): ParsedResults {
  const collector = new Collector();
  collector.evidence = 'Exit';
  collector.add({
    id: wholeRun,
    outcome: exitCode === 0 ? 'Passed' : 'Failed',
    message: exitCode === null ? 'no exit code' : `exit code ${exitCode}`,
  });
  return collector.finish('Exit');
}
