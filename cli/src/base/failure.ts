// cli, base: exit codes of fleet, and its error class. May import other packages, no other folder of cli.
import { readFile } from 'node:fs/promises';

/** Exit statuses beside 0; `docs/reference/cli.md` lists them. */
export const exitCodes = {
  /** Not done; the message has the reason. */
  failed: 1,
  /** The task ended without success. */
  taskFailed: 6,
  /** The time to wait is over and the task goes on. */
  stillRunning: 7,
  /** Nobody is logged in, or RBAC does not allow it. */
  forbidden: 8,
  /** There is no such task, pool or artifact. */
  notFound: 9,
  /** The cluster cannot be reached, or lacks what is needed: AgentFleet, a newer version of it, the results API. */
  unavailable: 10,
  /** Only a change from outside lets the task go on. */
  standsStill: 11,
  interrupted: 130,
  /** The reader of its output went away; the status of a program that SIGPIPE kills. */
  unread: 141,
} as const;

/** An error that the user can mend; its message has what, where, and the cure. */
export class CliError extends Error {
  /** Exit status of the program. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.name = 'CliError';
    this.exitCode = exitCode;
  }
}

/** The text of a file that the user named. @throws CliError with the cure */
export function readNamed(file: string, cure: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw new CliError(`${file} cannot be read (${error instanceof Error ? error.message : String(error)}); ${cure}`);
  });
}
