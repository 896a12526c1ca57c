import { describe, expect, it } from 'vitest';
import { choosePorts, defaultPorts, kubeletPort, parseListeners } from './ports.ts';

describe('choosePorts', () => {
  it('keeps free ports', () => expect(choosePorts(defaultPorts, () => false)).toEqual(defaultPorts));

  it('moves taken ports and no others', () => {
    const chosen = choosePorts(defaultPorts, (port) => port === 16443 || port === 16543);
    expect(chosen).toEqual({ ...defaultPorts, apiserver: 16643 });
  });

  it('gives no port twice, and never the kubelet’s', () => {
    const chosen = choosePorts({ ...defaultPorts, etcd: kubeletPort, etcdPeer: kubeletPort }, () => false);
    expect([chosen.etcd, chosen.etcdPeer]).toEqual([10350, 10450]);
  });

  it('ends when nothing is free', () => expect(() => choosePorts(defaultPorts, () => true)).toThrow(/no free port/));
});

it('reads listening sockets and leaves connections out', () => {
  const table = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    '   0: 00000000:280A 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0',
    '   1: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0',
  ].join('\n');
  expect(parseListeners(table)).toEqual([{ port: 10250, inode: '4711' }]);
});
