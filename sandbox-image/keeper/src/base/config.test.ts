import { describe, expect, it } from 'vitest';
import { ConfigError } from '@agentfleet/protocol/environment';
import { readConfig } from './config.ts';

const good = {
  AGENTFLEET_LINK_KEY: 'k'.repeat(32),
  POD_NAME: 'p',
  POD_NAMESPACE: 'n',
  POD_UID: 'u',
  AGENTFLEET_ISSUER: 'https://cluster',
  AGENTFLEET_CLIENT: 'system:serviceaccount:a:b, system:serviceaccount:c:d',
  KUBERNETES_SERVICE_HOST: '10.0.0.1',
  HOST_IP: '192.0.2.7',
};

describe('the configuration', () => {
  it('has a default for every optional variable', () => {
    expect(readConfig(good)).toMatchObject({
      listen: { host: '::', port: 7070 },
      link: { path: '/.agentfleet/link/keeper.sock' },
      storeDir: '/var/lib/agentfleet',
      roots: [
        { name: 'workspace', path: '/workspace' },
        { name: 'home', path: '/home/agent' },
      ],
      home: '/home/agent',
      auth: { subjects: ['system:serviceaccount:a:b', 'system:serviceaccount:c:d'] },
      network: {
        allowUnenforced: false,
        targets: [
          { name: 'apiserver', host: '10.0.0.1', port: 443 },
          { name: 'kubelet', host: '192.0.2.7', port: 10_250 },
        ],
      },
      quotaBytes: null,
      scratch: [],
      storeLimitBytes: null,
      quotaEntries: 150_000,
    });
  });

  it('takes addresses of both families', () => {
    expect(readConfig({ ...good, AGENTFLEET_LISTEN: '[::1]:80' }).listen).toEqual({ host: '::1', port: 80 });
    expect(readConfig({ ...good, AGENTFLEET_LISTEN: '0.0.0.0:80' }).listen).toEqual({ host: '0.0.0.0', port: 80 });
    expect(readConfig({ ...good, AGENTFLEET_PROBE_TARGETS: 'a=[fd00::1]:443,10.1.1.1:53' }).network.targets).toEqual([
      { name: 'a', host: 'fd00::1', port: 443 },
      { name: '10.1.1.1', host: '10.1.1.1', port: 53 },
    ]);
  });

  it('probes the DNS of the cluster too, by UDP and TCP, and a pod of another namespace', () => {
    const { network } = readConfig({
      ...good,
      KUBERNETES_SERVICE_HOST: '10.0.0.1',
      AGENTFLEET_PROBE_DNS: '10.0.0.10,fd00::a',
      AGENTFLEET_PROBE_SENTINEL: 'sentinel=[fd00::b]:8080',
    });
    expect(network.targets.map(({ host, port, by = 'TCP' }) => `${host} ${port} ${by}`)).toEqual([
      '10.0.0.1 443 TCP',
      '192.0.2.7 10250 TCP',
      '10.0.0.10 53 DNS',
      '10.0.0.10 53 TCP',
      'fd00::a 53 DNS',
      'fd00::a 53 TCP',
      'fd00::b 8080 TCP',
    ]);
    expect(network.targets.at(-1)?.name).toBe('sentinel');
    expect(() => readConfig({ ...good, AGENTFLEET_PROBE_DNS: 'dns.local' })).toThrow('AGENTFLEET_PROBE_DNS');
  });

  it('names every fault at once, with its variable', () => {
    const bad = {
      AGENTFLEET_LINK_KEY: 'short',
      AGENTFLEET_LISTEN: 'nowhere',
      AGENTFLEET_ROOTS: 'a=/x,b=/x/y',
      AGENTFLEET_CLIENT: 'admin',
      AGENTFLEET_ALLOW_UNENFORCED_NETWORK: 'yes',
      AGENTFLEET_WORKSPACE_LIMIT_BYTES: '2Gi',
      LOG_LEVEL: 'loud',
      AGENTFLEET_STORE: 'here',
      AGENTFLEET_STORE_LIMIT_BYTES: '0',
      AGENTFLEET_SCRATCH: '/tmp,there',
    };
    try {
      readConfig(bad);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError);
      const named = (error as ConfigError).faults.map((fault) => fault.split(':')[0]);
      expect(new Set(named)).toEqual(new Set([...Object.keys(bad), 'AGENTFLEET_ISSUER', 'POD_NAME', 'POD_NAMESPACE', 'POD_UID']));
    }
  });

  it('never repeats the key', () => {
    expect(() => readConfig({ ...good, AGENTFLEET_LINK_KEY: 'hunter2' })).toThrow(expect.not.stringContaining('hunter2'));
  });
});
