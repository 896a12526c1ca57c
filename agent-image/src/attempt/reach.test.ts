import type { AgentTask } from '@agentfleet/protocol/api';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { describe, expect, it } from 'vitest';
import { poolRules, reachOf } from './sandboxSession.ts';

const git = { host: 'git.corp', port: 443 };
const web = { host: 'example.com', port: 443 };
const packages = { host: 'packages.corp', port: 8443 };
const task = { spec: { policy: { network: { mode: 'Allowed', hosts: [git, web] } } } } as unknown as AgentTask;

const poolOf = (more: Partial<PoolBrief>, clusterRanges?: readonly string[]): PoolBrief =>
  ({
    egress: { registries: [packages], environment: { A: 'b' }, ...(clusterRanges === undefined ? {} : { clusterRanges }) },
    ...more,
  }) as unknown as PoolBrief;

describe('what a command may reach', () => {
  it('is what the task lists, at public addresses, in a pool without a list', () => {
    const reach = reachOf({ task, pool: poolOf({}, ['34.118.224.0/20']) }, 'Allowed');
    expect(reach).toMatchObject({ hosts: [git, web], rules: { open: [], clusterRanges: ['34.118.224.0/20'] } });
  });

  it('is no more than the pool lists by now, although the task was accepted with more', () => {
    expect(reachOf({ task, pool: poolOf({ allowedHosts: [git] }) }, 'Allowed')).toMatchObject({ hosts: [git], rules: { open: [git] } });
    expect(reachOf({ task, pool: poolOf({ allowedHosts: [] }) }, 'Allowed')).toMatchObject({ hosts: [], rules: { open: [] } });
  });

  it('is what the platform lists for registries, wherever they are, and nothing that the pool opens', () => {
    const reach = reachOf({ task, pool: poolOf({ allowedHosts: [git] }) }, 'Registries');
    expect(reach).toMatchObject({ hosts: [packages], rules: { open: [packages] }, environment: { A: 'b' } });
  });

  it('is nothing by itself', () => {
    expect(reachOf({ task, pool: poolOf({}) }, 'None')).toBeNull();
  });
});

it('an import reaches what the pool lists, and never what only the task does', () => {
  expect(poolRules(poolOf({ allowedHosts: [git] }))).toEqual({ open: [git] });
  expect(poolRules(poolOf({}))).toEqual({ open: [] });
});
