import { auditEntry, auditLines, type AuditMark } from '../bench/operator/auditLog.ts';

/** One kind of request that an account made. */
export interface Asked {
  readonly account: string;
  /** As in a Grant. */
  readonly what: string;
  readonly verb: string;
  readonly name: string;
  /** False when no rule of its account lets it. */
  readonly allowed: boolean;
}

export type Asks = readonly Asked[];

/** Open to all authenticated users, by roles of the cluster itself. */
const forAll = /^\/(?:api|apis|healthz|livez|openapi|readyz|version)(?:[/?]|$)/;

/**
 * Returns one line of an audit log as RBAC requests, if one of these accounts made it, in any namespace; nothing for
 * all others. An apply that created its object needed the verb `create` too. Pure.
 */
export function asksOf(line: string, accounts: readonly string[]): Asks {
  const account = accounts.find((one) => line.includes(`:${one}"`));
  const raw = account === undefined ? undefined : auditEntry(line);
  if (account === undefined || raw === undefined) return [];
  const { objectRef: ref, verb = '', requestURI = '', annotations = {}, user } = raw;
  if (!new RegExp(`^system:serviceaccount:[^:]+:${account}$`).test(user?.username ?? '')) return [];
  const allowed = annotations['authorization.k8s.io/decision'] !== 'forbid';
  if (ref?.resource === undefined) {
    if (forAll.test(requestURI)) return [];
    return [{ account, what: `/${requestURI.split('?')[0] ?? ''}`, verb, name: '', allowed }];
  }
  const what = [`${ref.apiGroup ?? ''}/${ref.resource}`, ...(ref.subresource === undefined ? [] : [ref.subresource])].join('/');
  const asked = { account, what, verb, name: ref.name ?? '', allowed };
  const made = verb === 'patch' && raw.responseStatus?.code === 201;
  return made ? [asked, { ...asked, verb: 'create' }] : [asked];
}

/**
 * Returns the requests of accounts since the mark, by the audit log in a folder, each once. Namespaces are left out,
 * and names except those in rules of the chart, which all begin with `agentfleet`.
 */
export async function asksSince(folder: string, mark: AuditMark, accounts: readonly string[]): Promise<Asks> {
  const seen = new Map<string, Asked>();
  for await (const line of auditLines(folder, mark)) {
    for (const asked of asksOf(line, accounts)) {
      const short = { ...asked, name: /agentfleet/.test(asked.name) ? asked.name : '' };
      seen.set(JSON.stringify(short), short);
    }
  }
  return [...seen.values()];
}
