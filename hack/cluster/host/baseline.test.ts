import { expect, it } from 'vitest';
import { sysctlChanges } from './baseline.ts';

const good = {
  'net.ipv4.ip_forward': '1',
  'net.bridge.bridge-nf-call-iptables': '1',
  'fs.inotify.max_user_instances': '8192',
  'fs.inotify.max_user_watches': '1048576',
  'kernel.pid_max': '4194304',
};

it('changes nothing on a host that has enough, and lowers nothing', () => expect(sysctlChanges(good)).toEqual({}));

it('raises low and unknown values', () => {
  expect(sysctlChanges({ ...good, 'fs.inotify.max_user_instances': '128' })).toEqual({ 'fs.inotify.max_user_instances': '1024' });
  expect(sysctlChanges({})).toHaveProperty(['net.ipv4.ip_forward'], '1');
});
