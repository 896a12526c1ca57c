import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** What the demo reads of an entry in the audit log of the API server. */
export interface AuditEntry {
  readonly verb: string;
  readonly user?: { readonly username?: string };
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
}

export interface WritesQuery {
  readonly username: string;
  readonly namespace: string;
  /** Objects that count, by `resource/name`; a name may be a prefix with a final `*`. */
  readonly objects: readonly string[];
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly until: number;
}

const writing: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** The writes that took place, as `verb resource/subresource name`. Pure. */
export function writes(entries: readonly AuditEntry[], query: WritesQuery): readonly string[] {
  return entries.filter((entry) => counts(entry, query)).map(reported);
}

function counts({ verb, user, objectRef = {}, responseStatus, requestReceivedTimestamp }: AuditEntry, query: WritesQuery): boolean {
  const at = Date.parse(requestReceivedTimestamp);
  if (!writing.has(verb) || user?.username !== query.username || objectRef.namespace !== query.namespace) return false;
  if (at < query.from || at > query.until || (responseStatus?.code ?? 0) >= 300) return false;
  const object = `${objectRef.resource ?? ''}/${objectRef.name ?? ''}`;
  return query.objects.some((wanted) => (wanted.endsWith('*') ? object.startsWith(wanted.slice(0, -1)) : object === wanted));
}

function reported({ verb, objectRef = {} }: AuditEntry): string {
  const { resource = '', subresource, name = '' } = objectRef;
  return `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`} ${name}`;
}

/**
 * Entries about one namespace in the audit log of our own cluster, which lies beside its kubeconfig; undefined for a cluster
 * of somebody else.
 */
export async function readAuditLog(
  cluster: { readonly provider: string; readonly kubeconfig: string },
  namespace: string,
): Promise<readonly AuditEntry[] | undefined> {
  if (cluster.provider !== 'local') return undefined;
  const text = await readFile(join(dirname(cluster.kubeconfig), 'logs', 'audit.log'), 'utf8');
  const lines = text.split('\n');
  lines.pop(); // what is behind the last newline is still being written
  return lines.filter((line) => line.includes(`"namespace":"${namespace}"`)).map((line) => JSON.parse(line) as AuditEntry);
}
