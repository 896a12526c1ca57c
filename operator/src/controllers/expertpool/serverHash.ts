import type { Expert } from '@agentfleet/protocol/api';
import { expertHash } from '../../revisions/index.ts';
import { adaptersOn, roomOf } from './manifests/adapters.ts';
import { imageOf } from './manifests/experts.ts';
import type { PoolArm } from './snapshot.ts';

/**
 * Tells servers of one expert apart, as `expertHash`; an adapter is another one on another engine, and an engine is another
 * one with other room for adapters. Pure.
 */
export function serverHash({ experts, images }: Pick<PoolArm, 'experts' | 'images'>, expert: Expert): string {
  const { engine, name } = expert;
  const image = imageOf(expert, images);
  if (engine.type === 'Adapter') {
    const base = experts.find((known) => known.name === engine.adapter.base);
    return expertHash(expert, image, base === undefined ? undefined : serverHash({ experts, images }, base));
  }
  const adapters = engine.type === 'VLLM' ? adaptersOn(experts, name) : [];
  return expertHash(expert, image, adapters.length === 0 ? undefined : roomOf(adapters));
}
