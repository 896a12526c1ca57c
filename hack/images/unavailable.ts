/** A part that comes from outside and cannot be had now. An image that may be missing is left out; of another it is a failure. */
export class PartUnavailable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'PartUnavailable';
  }
}
