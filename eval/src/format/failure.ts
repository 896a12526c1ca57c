/** A pack that is refused; the message names file, task, fault and cure. */
export class PackError extends Error {
  override name = 'PackError';
}
