import { type Condition } from '@agentfleet/kube';
import { conditionFaults, kstatus } from '@agentfleet/kube/testing';
import { describe, expect, it } from 'vitest';
import type { Deployment, Pod } from '../../runtime/resources.ts';
import { decideModel, modelStatus } from './decide.ts';
import { newModelSnapshot } from './testing/models.ts';
import type { ModelSnapshot } from './snapshot.ts';

const now = Date.UTC(2030, 0, 1);
const digest = `sha256:${'1'.repeat(64)}`;
const other = `sha256:${'2'.repeat(64)}`;
/** The digest of the code around it is another one. */
const reported = (artifact: string) => ({ digest: `sha256:${'f'.repeat(64)}`, artifact, shadow: null });
const pinned = { artifact: { uri: 'builtin://features-v1', digest } };

const deploymentOf = (ready: number, more: Deployment['status'] = {}): Deployment => ({
  metadata: { name: 'judge-verifier', generation: 1 },
  status: { observedGeneration: 1, replicas: ready, updatedReplicas: ready, readyReplicas: ready, ...more },
});

/** A pod that refuses its environment. */
const refusing: Pod = {
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'inference', image: 'inference:1' }] },
  status: {
    containerStatuses: [
      {
        name: 'inference',
        ready: false,
        restartCount: 1,
        state: { waiting: { reason: 'CrashLoopBackOff' } },
        lastState: { terminated: { exitCode: 1, message: `AGENTFLEET_ARTIFACT_DIGEST: the artifact has ${other}` } },
      },
    ],
  },
};

/** The status as it is decided; what kstatus makes of it comes along. */
function look(spec: Readonly<Record<string, unknown>>, parts: Partial<ModelSnapshot>) {
  const snapshot = newModelSnapshot(spec, parts);
  const status = modelStatus(snapshot, decideModel(snapshot).obstacles, now);
  const object = { ...snapshot.model, status: { ...status, conditions: status.conditions as Condition[] } };
  expect(conditionFaults(object)).toEqual([]);
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  return { status, said: `${status.ready} ${ready?.status} ${ready?.reason}`, message: ready?.message, kstatus: kstatus(object) };
}

describe('the status of a model', () => {
  it('reports address, digest, pods and thresholds', () => {
    const { status, said, kstatus } = look({}, { deployment: deploymentOf(1), info: reported(digest) });
    expect(said).toBe('1 True Ready');
    expect(kstatus).toBe('Current');
    expect(status).toMatchObject({
      observedGeneration: 2,
      ready: 1,
      arms: [
        {
          endpoint: 'http://judge-verifier.platform.svc:7080',
          digest,
          thresholdsInForce: { vetoBelowProbability: '0.15', warnBelowProbability: '0.35' },
        },
      ],
    });
  });

  it.each<[string, Readonly<Record<string, unknown>>, Partial<ModelSnapshot>, string, string]>([
    ['nothing is there', {}, {}, '0 False Progressing', 'InProgress'],
    ['its pods start', {}, { deployment: deploymentOf(0) }, '0 False Progressing', 'InProgress'],
    ['none is asked for', { resources: { replicas: 0 } }, { deployment: deploymentOf(0) }, '0 True ScaledToZero', 'Current'],
    ['one of two answers', { resources: { replicas: 2 } }, { deployment: deploymentOf(1) }, '1 False Progressing', 'InProgress'],
    ['the artifact is not known', { artifact: { uri: 'builtin://x' } }, {}, '0 False ArtifactUnknown', 'Failed'],
    ['the digest is right', pinned, { deployment: deploymentOf(1), info: reported(digest) }, '1 True Ready', 'Current'],
    ['another digest is reported', pinned, { deployment: deploymentOf(1), info: reported(other) }, '1 False DigestMismatch', 'Failed'],
    [
      'another digest is reported by pods that are replaced',
      pinned,
      { deployment: deploymentOf(1, { updatedReplicas: 0 }), info: reported(other) },
      '1 False Progressing',
      'InProgress',
    ],
    [
      'the server refuses the digest',
      pinned,
      { deployment: deploymentOf(0, { replicas: 1 }), pods: [refusing] },
      '0 False DigestMismatch',
      'Failed',
    ],
  ])('when %s', (_, spec, parts, expected, kstatus) => {
    const found = look(spec, parts);
    expect(found.said).toBe(expected);
    expect(found.kstatus).toBe(kstatus);
  });

  it('names both digests and the cure', () => {
    const { message } = look(pinned, { deployment: deploymentOf(1), info: reported(other) });
    expect(message).toContain(`the pods tell ${other}, and spec.artifact.digest is ${digest}; correct spec.artifact.digest`);
    expect(look(pinned, { deployment: deploymentOf(0), pods: [refusing] }).message).toContain(`the artifact has ${other}`);
  });
});
