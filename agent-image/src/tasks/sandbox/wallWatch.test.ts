import { silentLog } from '@agentfleet/kube';
import { settle, VirtualClock } from '@agentfleet/kube/testing';
import type { AgentTask, Run } from '@agentfleet/protocol/api';
import type { KeeperInfo } from '@agentfleet/protocol/keeper';
import { describe, expect, it } from 'vitest';
import { reportedWall, watchWall } from './connect.ts';

type Isolation = NonNullable<Run['isolation']>;
type State = Isolation['network'];

const found: Isolation = { level: 'Landlock', network: 'Enforced' };
const taskOf = (opened: boolean): AgentTask =>
  ({ status: { conditions: opened ? [{ type: 'NetworkOpened', status: 'True' }] : [] } }) as unknown as AgentTask;
const infoOf = (state: State): KeeperInfo =>
  ({
    isolation: { level: 'Landlock', landlockABI: 6, userNamespace: false, runtimeClass: null },
    network: { state, probedAt: null, targets: [] },
  }) as unknown as KeeperInfo;

describe('the wall', () => {
  it('is not reported as enforced while a policy opens it', () => {
    expect(reportedWall(found, taskOf(false))).toBe(found);
    expect(reportedWall(found, taskOf(true))).toEqual({ ...found, network: 'NotEnforced' });
    expect(reportedWall({ ...found, network: 'Probing' }, taskOf(true)).network).toBe('Probing');
  });

  it('that opens under the work is reported once, and again when it closes', async () => {
    const clock = new VirtualClock();
    const world = { state: 'Enforced' as State, opened: false, away: false };
    const reports: State[] = [];
    const stop = new AbortController();
    const watching = watchWall(
      {
        keeper: { info: () => (world.away ? Promise.reject(new Error('away')) : Promise.resolve(infoOf(world.state))) },
        found,
        task: () => taskOf(world.opened),
        report: ({ network }) => reports.push(network),
        clock,
        log: silentLog,
      },
      stop.signal,
    );
    const minute = async (change: Partial<typeof world>): Promise<void> => {
      Object.assign(world, change);
      await clock.advance(60_000);
      await settle();
    };
    await minute({});
    expect(reports).toEqual([]);
    await minute({ state: 'NotEnforced' });
    await minute({});
    await minute({ away: true });
    expect(reports).toEqual(['NotEnforced']);
    await minute({ state: 'Enforced', away: false });
    await minute({ opened: true });
    expect(reports).toEqual(['NotEnforced', 'Enforced', 'NotEnforced']);
    stop.abort();
    await watching;
  });
});
