import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { apiServer, controllerManager, etcd, scheduler, type Surroundings } from '../daemons/control-plane.ts';
import { containerd, kubelet, kubeProxy, kubeRouter } from '../daemons/node.ts';
import { layoutAt } from '../base/layout.ts';
import { defaultPorts } from '../base/ports.ts';
import { cacheUsers, purgeRefusal, stateOf, type CacheUser } from './purge.ts';

const own = '/var/lib/agentfleet-cluster';
const binaries = { path: (name: string) => `/b/${name}`, folder: (name: string) => `/b/${name}` } as Surroundings['binaries'];
const around = (state: string): Surroundings => ({
  layout: layoutAt(state),
  binaries,
  ports: defaultPorts,
  nodeName: 'n1',
  address: '192.0.2.1',
});
const daemons = [etcd, apiServer, controllerManager, scheduler, containerd, kubeProxy, kubeRouter];
const running = (state: string): CacheUser[] => daemons.map((daemon, index) => ({ pid: 100 + index, args: daemon(around(state)).args }));

describe('the state folder of a daemon', () => {
  it.for([own, '/tmp/other', '/home/me/.local/state/agentfleet-cluster'])('is found from the arguments of each: %s', (state) => {
    const all = [...running(state).map(({ args }) => args), kubelet({ ...around(state), resolvConf: '' }).args];
    expect(all.map(stateOf)).toEqual(all.map(() => state));
  });

  it('is nothing for a client', () => {
    expect(stateOf(['--kubeconfig', '/tmp/other/kubeconfig', 'get', 'pods'])).toBeUndefined();
  });
});

describe('--purge', () => {
  it('continues where only this cluster runs from the caches', () => {
    expect(purgeRefusal(own, undefined, running(own))).toBeUndefined();
    expect(purgeRefusal(own, '', [])).toBeUndefined();
  });

  it('is refused while another cluster runs from the caches, and names it', () => {
    const refusal = purgeRefusal(own, undefined, [...running(own), ...running(`${own}-2`)]);
    expect(refusal).toMatchObject({ code: 'AF_CACHE_SHARED', parts: { where: `${own}-2` } });
    expect(refusal?.message).toMatch(/process 100 of another cluster.*AGENTFLEET_STATE=\S+-2 npm run cluster:down/);
  });

  it('is refused for a state folder that was named, whether others run or not', () => {
    const refusal = purgeRefusal('/tmp/other', '/tmp/other', []);
    expect(refusal).toMatchObject({ code: 'AF_CACHE_SHARED', parts: { where: 'AGENTFLEET_STATE=/tmp/other' } });
    expect(refusal?.parts.cure).toMatch(/without --purge.*unset AGENTFLEET_STATE/);
  });

  it('lists the processes that run from the cache, and no others', async () => {
    const root = await mkdtemp(join(tmpdir(), 'purge-'));
    const folder = join(root, 'cluster-bin', 'etcd');
    await mkdir(folder, { recursive: true });
    await copyFile('/bin/sh', join(folder, 'sh'));
    const child = spawn(join(folder, 'sh'), ['-c', 'echo; read line', 'sh', '--ca=/tmp/other/pki/ca.crt'], { stdio: 'pipe' });
    try {
      await once(child.stdout, 'data');
      const users = await cacheUsers(root);
      expect(users.map(({ pid, args }) => [pid, stateOf(args)])).toEqual([[child.pid, '/tmp/other']]);
      expect(purgeRefusal(own, undefined, users)?.code).toBe('AF_CACHE_SHARED');
      expect(await cacheUsers(join(root, 'elsewhere'))).toEqual([]);
    } finally {
      child.stdin.end();
      await once(child, 'close');
      await rm(root, { recursive: true });
    }
  });
});
