/** A failure as the API server answers it: `metav1.Status`. */
export class StatusError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: object | undefined;
  readonly metadata: object;

  constructor(code: number, reason: string, message: string, details?: object, metadata: object = {}) {
    super(message);
    this.metadata = metadata;
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  body(): object {
    const { code, reason, message, details, metadata } = this;
    return { kind: 'Status', apiVersion: 'v1', metadata, status: 'Failure', message, reason, ...(details ? { details } : {}), code };
  }
}

export const notFound = (plural: string, name: string): StatusError =>
  new StatusError(404, 'NotFound', `${plural} "${name}" not found`, { name, kind: plural });
export const alreadyExists = (plural: string, name: string): StatusError =>
  new StatusError(409, 'AlreadyExists', `${plural} "${name}" already exists`, { name, kind: plural });
export const conflict = (plural: string, name: string, why: string): StatusError =>
  new StatusError(409, 'Conflict', `Operation cannot be fulfilled on ${plural} "${name}": ${why}`, { name, kind: plural });
export const invalid = (kind: string, name: string, why: string): StatusError =>
  new StatusError(422, 'Invalid', `${kind} "${name}" is invalid: ${why}`, { name, kind });
export const badRequest = (why: string): StatusError => new StatusError(400, 'BadRequest', why);
export const expired = (version: number): StatusError => new StatusError(410, 'Expired', `too old resource version: ${version}`);
/** Of a page whose moment is compacted; the token leads to the rest as it is now. */
export const pageExpired = (version: number, token: string): StatusError =>
  new StatusError(410, 'Expired', `The provided continue parameter is too old: ${version}`, undefined, { continue: token });
