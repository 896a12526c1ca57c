// operator, results: error class of refused requests, with its Kubernetes Status. May import the layers below results, kube and protocol.

const reasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  429: 'TooManyRequests',
  500: 'InternalError',
  502: 'InternalError',
  503: 'ServiceUnavailable',
};

/** An answer that is a refusal; the message has what, where and the cure. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'Refused';
    this.status = status;
  }

  /** The `Status` of Kubernetes, which kubectl and clients print. */
  get body(): object {
    const { status: code, message } = this;
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason: reasons[code] ?? 'InternalError', code };
  }
}
