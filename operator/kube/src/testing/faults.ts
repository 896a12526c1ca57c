export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'apply' | 'delete' | 'deletecollection';

/** A request as tests see it. */
export interface SeenRequest {
  /** Counts from 0 in the order of arrival. */
  readonly index: number;
  readonly verb: Verb;
  /** `plural.group`. */
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  /** Of managedFields. */
  readonly manager: string;
  readonly userAgent: string;
  readonly body: unknown;
}

/** Fault of a request. */
export type Fault =
  /** The connection breaks; the request was not executed. */
  | { readonly kind: 'before' }
  /** The request is executed; the connection breaks before the answer. */
  | { readonly kind: 'lost-response' }
  /** An error is answered; `executed`: after the request took effect. */
  | {
      readonly kind: 'error';
      readonly code: number;
      readonly reason: string;
      /** Default: words of the test. */
      readonly message?: string;
      readonly retryAfterSeconds?: number;
      readonly executed?: boolean;
    }
  /** The answer comes late. */
  | { readonly kind: 'delay'; readonly ms: number };

/** Decides for each request. */
export type FaultHook = (request: SeenRequest) => Fault | undefined;

export const writeVerbs: ReadonlySet<Verb> = new Set(['create', 'update', 'patch', 'apply', 'delete', 'deletecollection']);

export function isWrite(request: SeenRequest): boolean {
  return writeVerbs.has(request.verb);
}

/** The hook that faults the n-th write, counted from 0, once. */
export function faultAtWrite(n: number, fault: Fault): FaultHook {
  let writes = 0;
  return (request) => {
    if (!isWrite(request)) return undefined;
    writes += 1;
    return writes === n + 1 ? fault : undefined;
  };
}
