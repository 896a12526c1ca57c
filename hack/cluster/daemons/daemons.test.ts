import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { Binaries } from '../build/binaries.ts';
import { layoutAt } from '../base/layout.ts';
import { defaultPorts } from '../base/ports.ts';
import { apiServer, controllerManager, etcd, scheduler, type Surroundings } from './control-plane.ts';
import { runscConfig } from '../local/up.ts';
import { cniConfig, containerd, containerdConfig, gvisorFolder, kubelet, kubeletConfig, kubeProxy, kubeRouter } from './node.ts';
import { fingerprint } from './supervisor.ts';

const around: Surroundings = {
  layout: layoutAt('/var/lib/agentfleet-cluster'),
  binaries: new Binaries(
    new Map([
      ['kubernetes', '/b/k8s'],
      ['containerd', '/b/ctd'],
      ['runc', '/b/runc'],
      ['kube-router', '/b/router'],
    ]),
  ),
  ports: defaultPorts,
  nodeName: 'n1',
  address: '192.0.2.7',
};

describe('containerd', () => {
  it('has the settings of sandboxes on a machine without CAP_SYS_RESOURCE', () => {
    const text = containerdConfig(around);
    expect(text).toContain('restrict_oom_score_adj = true');
    expect(text).toContain('bin_dirs = ["/usr/lib/cni"]');
    expect(text).toContain('netns_mounts_under_state_dir = true');
    expect(text).toContain('BinaryName = "/b/runc/runc"');
  });

  it('knows gVisor before it is built, so that nothing has to be restarted for it', () => {
    expect(containerdConfig(around)).toContain('runtime_path = "/var/lib/agentfleet-cluster/gvisor/containerd-shim-runsc-v1"');
    expect(runscConfig(gvisorFolder(around.layout))).toContain('binary_name = "/var/lib/agentfleet-cluster/gvisor/runsc"');
  });

  it('finds its own shim first', () => expect(containerd(around).env?.['PATH']).toMatch(/^\/b\/ctd:/));

  it('keeps sockets short enough for a Unix address', () => {
    const { containerdSocket } = layoutAt(`/${'very-long-folder-name/'.repeat(10)}`);
    expect(Buffer.byteLength(containerdSocket)).toBeLessThan(100);
  });
});

describe('kubelet', () => {
  it('accepts cgroup v1, limits processes and ignores how full the disk looks', () => {
    const config = load(kubeletConfig(around)) as Record<string, unknown>;
    expect(config).toMatchObject({ failCgroupV1: false, podPidsLimit: 1024, port: 10250, imageGCHighThresholdPercent: 100 });
    expect(config['evictionHard']).toMatchObject({ 'nodefs.available': '1Gi' });
  });

  it('soon retries failed preparations', () => {
    expect(load(kubeletConfig(around))).toMatchObject({ syncFrequency: '10s' });
  });

  it('keeps the root folder that drivers count on', () => {
    expect(kubelet({ ...around, resolvConf: '' }).args).toContain('--root-dir=/var/lib/kubelet');
  });
});

it('gives kube-router a kubeconfig and a node name, without which it cannot run on the host', () => {
  expect(kubeRouter(around).args).toEqual(expect.arrayContaining(['--hostname-override=n1', '--run-firewall=true', '--run-router=false']));
});

it('leaves connection tracking alone', () => {
  expect(kubeProxy(around).files?.[0]?.text).toContain('maxPerCore: 0');
});

it('names our bridge, which teardown looks for', () => {
  expect(JSON.parse(cniConfig('/run/x'))).toMatchObject({ plugins: [{ bridge: 'afcni0' }, { type: 'portmap' }] });
});

it('closes every control-plane port but one to other machines', () => {
  const text = [etcd(around), controllerManager(around), scheduler(around)].flatMap((daemon) => daemon.args).join('\n');
  expect(text).not.toContain('0.0.0.0');
  expect(etcd(around).args).toContain('--client-cert-auth');
  expect(apiServer(around).args).toContain('--authorization-mode=Node,RBAC');
});

it('changes the fingerprint with the binary, an argument or a file', async () => {
  const daemon = { name: 'x', binary: '/b/1/x', args: ['--a'], files: [{ path: '/f', text: 't' }] };
  const all = [daemon, { ...daemon, binary: '/b/2/x' }, { ...daemon, args: [] }, { ...daemon, files: [{ path: '/f', text: 'u' }] }];
  expect(new Set(await Promise.all(all.map(fingerprint))).size).toBe(4);
});

it('does not change the fingerprint with the place of the cache', async () => {
  const at = (root: string) => ({ name: 'x', binary: `${root}/cluster-bin/k-1/x`, args: [`--runc=${root}/cluster-bin/r-1/runc`] });
  const before = process.env['AGENTFLEET_CACHE'];
  try {
    process.env['AGENTFLEET_CACHE'] = '/one';
    const one = await fingerprint(at('/one'));
    process.env['AGENTFLEET_CACHE'] = '/two';
    expect(await fingerprint(at('/two'))).toBe(one);
  } finally {
    if (before === undefined) delete process.env['AGENTFLEET_CACHE'];
    else process.env['AGENTFLEET_CACHE'] = before;
  }
});
