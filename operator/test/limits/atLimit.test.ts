import { ajvOptions, kinds, validators } from '@agentfleet/protocol/api';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { atLimit, boundsOf, reached, type Node } from './atLimit.ts';
import {
  beyondRunning,
  largestGrant,
  largestModel,
  largestOrder,
  largestPolicy,
  largestPool,
  largestRolloutOrder,
  largestScale,
  largestTask,
} from './objects.ts';

const valid = validators(new Ajv(ajvOptions));

const objects: Readonly<Record<string, readonly { readonly spec: unknown }[]>> = {
  AgentTask: [...(['Git', 'Inline', 'ConfigMap'] as const).map((workspace) => largestTask(workspace)), largestTask('Git', beyondRunning)],
  AgentTaskOrder: [
    ...(['Approve', 'Answer', 'Message'] as const).map((type) => largestOrder(type, '\u{1F9EA}'.repeat(1024))),
    largestOrder('Cancel', 'ann'),
    largestRolloutOrder(),
  ],
  ExpertPool: [
    largestPool(),
    largestPool({
      'spec.sandbox.template.image': () => 'i'.repeat(512),
      'spec.energyModelRef.name': () => 'm'.repeat(253),
      'spec.sandbox.template.storage': () => undefined,
    }),
  ],
  EnergyModel: [largestModel()],
  PoolGrant: [largestGrant()],
  RolloutPolicy: [largestPolicy()],
  ExpertScale: [largestScale()],
};

/** Engines on GPUs, and rollouts: a pool that has them has other fields than the one that is tried here. */
const ofGpus =
  /^spec\.(experts\[\]\.(artifact|engine\.(vLLM|adapter)|speculative|warmup|resources\.(slot|memory))|resources\.(slot|memory)|modelCache|placement|rolloutPolicyRef)\b/;

describe('the largest objects', () => {
  test.for(kinds.map((kind) => [kind.kind, kind] as const))('%s: lies on each bound of its schema', ([name, { spec }]) => {
    const schema = spec as unknown as Node;
    const on = new Set(objects[name]!.flatMap((object) => reached(schema, object.spec, 'spec')));
    const bounds = boundsOf(schema, 'spec').filter((bound) => !ofGpus.test(bound));
    expect(bounds.filter((bound) => !on.has(bound))).toEqual([]);
    expect(bounds.length).toBeGreaterThan(2);
  });

  test.for(Object.keys(objects))('%s: is what its schema takes, in less than etcd holds', (name) => {
    for (const object of objects[name]!) {
      const validate = valid[name as keyof typeof valid];
      expect(validate(structuredClone(object)), JSON.stringify(validate.errors?.slice(0, 3))).toBe(true);
      expect(Buffer.byteLength(JSON.stringify(object))).toBeLessThan(1_400_000);
    }
  });

  test('no field takes more than a bound allows', () => {
    expect(() => atLimit({ type: 'string' }, {}, 'spec.free')).toThrow('spec.free has no maxLength');
  });
});
