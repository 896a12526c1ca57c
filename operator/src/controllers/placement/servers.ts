import { imageOf, recordedArms, serverHash } from '../../operands/index.ts';
import type { KubeObject } from '@agentfleet/kube';
import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { isOpen, poolRevision } from '../../revisions/index.ts';
import type { Images } from '../../runtime/context.ts';
import type { ControllerRevision } from '../../runtime/resources.ts';

/** Pods that are to serve an expert. */
export interface ExpertServer {
  readonly expert: Expert;
  /** All experts of its revision. */
  readonly experts: readonly Expert[];
  /** As in `serverHash`; undefined in a pool without rollouts. */
  readonly revision: string | undefined;
  /** In a revision that is tried, of an expert that is another one in it. */
  readonly canary: { readonly beside: ExpertServer | undefined } | undefined;
}

/** What revisions are known by. */
export interface Revisions {
  readonly images: Images;
  /** Of all pools. */
  readonly records: readonly ControllerRevision[];
}

interface Content {
  readonly experts: readonly Expert[];
  readonly images: Images;
}

const ofPool =
  ({ metadata }: ExpertPool) =>
  (record: KubeObject): boolean =>
    record.metadata.namespace === metadata.namespace;

/**
 * The servers of a pool that its rollout asks for: of the revision that serves, and of one that is tried. Undefined while the
 * record of the one that serves is not to be seen: then nobody can say what it needs, and nothing may move. Pure.
 */
export function serversIn(pool: ExpertPool, { images, records }: Revisions): readonly ExpertServer[] | undefined {
  const { experts, rolloutPolicyRef } = pool.spec;
  if (rolloutPolicyRef === undefined) return experts.map((expert) => ({ expert, experts, revision: undefined, canary: undefined }));
  const desired = poolRevision(pool.metadata.uid ?? '', experts, (expert) => imageOf(expert, images));
  const arms = new Map<string, Content>([...recordedArms(pool, images, records.filter(ofPool(pool))), [desired, { experts, images }]]);
  const status = pool.status?.rollout;
  const serving = arms.get(status?.stable ?? desired);
  if (serving === undefined) return undefined;
  const stable = serversOf(serving);
  const tried = status !== undefined && isOpen(status) ? arms.get(status.canary ?? '') : undefined;
  if (tried === undefined) return stable;
  const known = new Set(stable.map(keyOf));
  const canaries = serversOf(tried).filter((server) => !known.has(keyOf(server)));
  const beside = new Map(stable.map((server) => [server.expert.name, server]));
  return [...stable, ...canaries.map((server) => ({ ...server, canary: { beside: beside.get(server.expert.name) } }))];
}

function serversOf(content: Content): readonly ExpertServer[] {
  const { experts } = content;
  return experts.map((expert) => ({ expert, experts, revision: serverHash(content, expert), canary: undefined }));
}

const keyOf = ({ expert, revision }: ExpertServer): string => `${expert.name} ${revision ?? ''}`;
