import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { volumeOf } from '../weights/items.ts';

/** Adapters that the engine of an expert loads. Pure. */
export function adaptersOn(experts: readonly Expert[], base: string): readonly Expert[] {
  return experts.filter(({ engine }) => engine.type === 'Adapter' && engine.adapter.base === base);
}

const rankOf = ({ engine }: Expert): number => (engine.type === 'Adapter' ? engine.adapter.rank : 0);

/** Adapters that an engine has room for. */
export interface AdapterRoom {
  readonly count: number;
  readonly maxRank: number;
}

/**
 * Room for the adapters of an expert. Where revisions are tried each has room for itself twice, so that another one of it is
 * loaded beside it and the engine stays as it is. Undefined: it has none. Pure.
 */
export function adapterRoom({ spec }: Pick<ExpertPool, 'spec'>, base: string): AdapterRoom | undefined {
  const adapters = adaptersOn(spec.experts, base);
  if (adapters.length === 0) return undefined;
  const places = spec.rolloutPolicyRef === undefined ? 1 : 2;
  return { count: adapters.length * places, maxRank: Math.max(...adapters.map(rankOf)) };
}

/** What of its adapters is in the template of an engine: how many, the greatest rank, and where they lie. Pure. */
export function roomOf(adapters: readonly Expert[]): object {
  const volumes = [...new Set(adapters.flatMap(({ artifact }) => (artifact === undefined ? [] : [volumeOf(artifact.uri)])))].sort();
  return { count: adapters.length, maxRank: Math.max(...adapters.map(rankOf)), volumes };
}
