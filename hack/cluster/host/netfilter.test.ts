import { describe, expect, it } from 'vitest';
import { chainsIn, isEmptyTable, removalScript } from './netfilter.ts';

const save = `*filter
:INPUT ACCEPT [0:0]
:MY-CHAIN - [0:0]
:KUBE-ROUTER-INPUT - [0:0]
:KUBE-POD-FW-ABC - [0:0]
-A INPUT -m comment --comment "kube-router netpol" -j KUBE-ROUTER-INPUT
-A INPUT -p tcp --dport 22 -j MY-CHAIN
-A KUBE-ROUTER-INPUT -j KUBE-POD-FW-ABC
COMMIT
*nat
:POSTROUTING ACCEPT [0:0]
:CNI-1234 - [0:0]
:CNI-OLD - [0:0]
-A POSTROUTING -s 10.244.0.2/32 -m comment --comment "name: \\"agentfleet\\" id: \\"x\\"" -j CNI-1234
COMMIT
`;

describe('removalScript', () => {
  const script = removalScript(save, new Set(['nat/CNI-OLD']));
  it('unhooks, empties and deletes our chains, in this order', () => {
    expect(script.indexOf('-D INPUT -m comment --comment "kube-router netpol"')).toBeLessThan(script.indexOf('-F KUBE-ROUTER-INPUT'));
    expect(script.indexOf('-F KUBE-POD-FW-ABC')).toBeLessThan(script.indexOf('-X KUBE-ROUTER-INPUT'));
    expect(script).toContain('-X CNI-1234');
  });
  it('touches neither rules of others nor chains that were there before', () => {
    expect(script).not.toContain('MY-CHAIN');
    expect(script).not.toContain('CNI-OLD');
    expect(script).not.toContain('-F INPUT');
  });
  it('is empty without chains of ours', () => {
    expect(removalScript('*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -j ACCEPT\nCOMMIT\n', new Set())).toBe('');
  });
});

it('lists chains with their table', () => {
  expect(chainsIn(save)).toEqual(expect.arrayContaining(['filter/INPUT', 'filter/KUBE-POD-FW-ABC', 'nat/CNI-1234']));
});

it('takes a table for empty only when it has no rule and accepts everything', () => {
  const chain = (inside: string, policy = 'accept'): string =>
    `table ip filter {\n\tchain INPUT {\n\t\ttype filter hook input priority filter; policy ${policy};\n${inside}\t}\n}`;
  expect(isEmptyTable(chain(''))).toBe(true);
  expect(isEmptyTable(chain('\t\tcounter packets 1 bytes 2 drop\n'))).toBe(false);
  expect(isEmptyTable(chain('', 'drop'))).toBe(false);
});
