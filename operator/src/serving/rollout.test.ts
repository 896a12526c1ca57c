import { describe, expect, it } from 'vitest';
import type { Deployment, Pod } from '../runtime/resources.ts';
import { firstTrouble } from './podTrouble.ts';
import { engineState, newestReady, servingOf, type ServerView } from './rollout.ts';

const deploymentOf = (ready: number, more: Deployment['status'] = {}): Deployment => ({
  metadata: { name: 'd', generation: 1 },
  status: { observedGeneration: 1, replicas: ready, updatedReplicas: ready, readyReplicas: ready, ...more },
});
const stuck = { conditions: [{ type: 'Progressing', status: 'False' }] };
const quota = { conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota: pods' }] };
const crash = (message: string): Pod => ({
  metadata: { name: 'p' },
  status: {
    phase: 'Running',
    containerStatuses: [
      {
        name: 'inference',
        ready: false,
        restartCount: 3,
        state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s restarting failed container' } },
        lastState: { terminated: { exitCode: 1, reason: 'Error', message } },
      },
    ],
  },
});

describe('how far a server is', () => {
  const look = (view: Partial<ServerView>): string => {
    const { phase, ready, fault } = servingOf({
      wanted: 2,
      deployment: undefined,
      pods: [],
      notes: new Map(),
      obstacle: undefined,
      ...view,
    });
    return `${phase} ${ready} ${fault?.reason ?? '-'}${fault?.stalled === true ? ' stalled' : ''}`;
  };
  const obstacle = { reason: 'ImageNotSet' as const, message: 'no image' };

  it.each<[string, Partial<ServerView>, string]>([
    ['nothing is there', {}, 'Starting 0 Progressing'],
    ['all answer', { deployment: deploymentOf(2) }, 'Ready 2 -'],
    ['none is asked for', { wanted: 0, deployment: deploymentOf(0) }, 'Scaled 0 -'],
    ['none is asked for, and nothing is there', { wanted: 0 }, 'Scaled 0 -'],
    ['one of two answers', { deployment: deploymentOf(1, { replicas: 2, updatedReplicas: 2 }) }, 'Degraded 1 Progressing'],
    ['another template comes', { deployment: deploymentOf(2, { updatedReplicas: 1 }) }, 'Starting 2 Progressing'],
    ['the spec was not seen', { deployment: deploymentOf(2, { observedGeneration: 0 }) }, 'Starting 2 Progressing'],
    ['it crashes', { deployment: deploymentOf(0, { replicas: 2 }), pods: [crash('x')] }, 'Starting 0 PodsNotReady'],
    ['no pod may be made', { deployment: deploymentOf(0, quota) }, 'Starting 0 PodsNotReady'],
    ['it does not get on', { deployment: deploymentOf(0, stuck) }, 'Unavailable 0 ProgressDeadlineExceeded stalled'],
    [
      'its update does not get on',
      { deployment: deploymentOf(2, { replicas: 3, ...stuck }) },
      'Degraded 2 ProgressDeadlineExceeded stalled',
    ],
    ['something is in the way', { obstacle }, 'Unavailable 0 ImageNotSet stalled'],
    ['something is in the way of a change', { obstacle, deployment: deploymentOf(2) }, 'Degraded 2 ImageNotSet stalled'],
  ])('when %s', (_, view, expected) => {
    expect(look(view)).toBe(expected);
  });

  it('names what keeps pods from being made, where those that are there say nothing', () => {
    const view = { wanted: 2, deployment: deploymentOf(0, quota), pods: [], notes: new Map<string, string>(), obstacle: undefined };
    expect(servingOf(view).fault?.message).toBe(
      'pods cannot be made: exceeded quota: pods; change what it names, or make room below it, and it is tried again',
    );
    expect(servingOf({ ...view, pods: [crash('x')] }).fault?.message).toContain('CrashLoopBackOff');
  });

  it('asks the newest pod that answers', () => {
    const pod = (name: string, creationTimestamp: string, ready = true): Pod => ({
      metadata: { name, creationTimestamp },
      status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
    });
    const pods = [pod('a', '2030-01-01T00:00:00Z'), pod('b', '2030-01-02T00:00:00Z'), pod('c', '2030-01-03T00:00:00Z', false)];
    expect(newestReady(pods)?.metadata.name).toBe('b');
    expect(newestReady([])).toBeUndefined();
  });

  it('reports the last lines of a container that does not start, and not how long the kubelet waits', () => {
    const words = firstTrouble([crash('the environment is not usable:\n  - AGENTFLEET_ARTIFACT: there is no such one\n')]);
    expect(words).toBe(
      'container inference: CrashLoopBackOff after exit code 1: the environment is not usable: - AGENTFLEET_ARTIFACT: there is no such one',
    );
    expect(firstTrouble([crash('🦀'.repeat(4000))])?.length).toBeLessThan(500);
  });
});

describe('the engines of a revision', () => {
  const now = Date.parse('2030-01-01T00:20:00Z');
  const lost = (minute: number, more: Deployment['status'] = {}): Deployment => {
    const conditions = [
      { type: 'Available', status: 'False', lastTransitionTime: `2030-01-01T00:${minute}:00Z` },
      { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable' },
    ];
    return deploymentOf(0, { replicas: 2, updatedReplicas: 2, conditions, ...more });
  };

  it.each<[string, readonly (Deployment | undefined)[], string]>([
    ['have no pods yet', [undefined], 'Absent'],
    ['answer', [deploymentOf(2)], 'Ready'],
    ['answer in part', [deploymentOf(1, { replicas: 2, updatedReplicas: 2 })], 'Loading'],
    ['take another template', [deploymentOf(2, { updatedReplicas: 1 })], 'Loading'],
    ['answer for one expert alone', [deploymentOf(2), lost(11)], 'Absent'],
    ['are away for as long as a Deployment may take', [deploymentOf(2), lost(10)], 'Failed'],
    ['are away in part for longer', [lost(10, { readyReplicas: 1 })], 'Loading'],
    ['are away for a time that the Deployment sets', [{ ...lost(16), spec: { progressDeadlineSeconds: 240 } }], 'Failed'],
    ['do not get on', [deploymentOf(2), deploymentOf(0, stuck)], 'Failed'],
    ['are none', [], 'Ready'],
  ])('%s', (_, deployments, expected) => {
    expect(
      engineState(
        deployments.map((deployment) => ({ deployment, replicas: 2 })),
        now,
      ),
    ).toBe(expected);
  });
});
