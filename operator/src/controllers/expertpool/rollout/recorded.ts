import { isControlledBy } from '@agentfleet/kube';
import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import type { Images } from '../../../runtime/context.ts';
import type { ControllerRevision } from '../../../runtime/resources.ts';
import type { RecordedArm } from '../snapshot.ts';

interface Content {
  readonly revision: string;
  readonly experts: readonly Expert[];
  readonly images: Pick<Images, 'inference' | 'inferenceLlama'>;
}

function contentOf({ data }: ControllerRevision): Content | undefined {
  const { revision, experts, images } = (data ?? {}) as Partial<Content>;
  return revision === undefined || experts === undefined || images === undefined ? undefined : { revision, experts, images };
}

/** As many pods as the spec says now: how many there are is no part of a revision. */
function scaled(experts: readonly Expert[], pool: ExpertPool): readonly Expert[] {
  const now = new Map(pool.spec.experts.map(({ name, replicas }) => [name, replicas]));
  return experts.map((expert) => ({ ...expert, replicas: now.get(expert.name) ?? expert.replicas }));
}

/** Revisions that a pool has on record. Pure. */
export function recordedArms(pool: ExpertPool, images: Images, records: readonly ControllerRevision[]): ReadonlyMap<string, RecordedArm> {
  const own = records.filter((record) => isControlledBy(record, pool));
  const arms = own.flatMap((record): readonly RecordedArm[] => {
    const content = contentOf(record);
    if (content === undefined) return [];
    const { inferenceLlama: _, ...rest } = images;
    return [
      {
        revision: content.revision,
        experts: scaled(content.experts, pool),
        images: { ...rest, ...content.images },
        number: record.revision ?? 0,
      },
    ];
  });
  return new Map(arms.map((arm) => [arm.revision, arm]));
}
