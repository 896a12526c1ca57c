import { expect, it } from 'vitest';
import { holders, isBelow, parseMounts } from './mounts.ts';

it('reads mount points, escapes and propagation', () => {
  const text = [
    '26 1 254:0 / / rw shared:1 - ext4 /dev/vda rw',
    '30 26 0:5 / /a\\040b rw master:2 - tmpfs t rw',
    '31 26 0:6 / /c rw - tmpfs t rw',
    '',
  ].join('\n');
  expect(parseMounts(text)).toEqual([
    { path: '/', shared: true },
    { path: '/a b', shared: false },
    { path: '/c', shared: false },
  ]);
});

it('does not take a folder for one whose name it begins with', () => {
  expect(isBelow('/var/lib/kubelet/pods/x', ['/var/lib/kubelet'])).toBe(true);
  expect(isBelow('/var/lib/kubelet', ['/var/lib/kubelet'])).toBe(true);
  expect(isBelow('/var/lib/kubelet2', ['/var/lib/kubelet'])).toBe(false);
});

it('finds the mounts that hold our folders, the topmost where one covers another', () => {
  const all = [
    { path: '/', shared: false },
    { path: '/var', shared: true },
    { path: '/var', shared: false },
    { path: '/dev/shm', shared: false },
  ];
  expect(holders(all, ['/', '/var/lib/kubelet', '/var/x'])).toEqual([all[0], all[2]]);
});
