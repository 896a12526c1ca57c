/** Something that the user can mend; its message says what, where, and the cure. */
export class CliError extends Error {
  /** Exit status of the program. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.name = 'CliError';
    this.exitCode = exitCode;
  }
}
