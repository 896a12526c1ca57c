import { describe, expect, it } from 'vitest';
import { parseEgress } from './egress.ts';

describe('parseEgress', () => {
  it('takes what the chart writes, with names in one order', () => {
    const text = '{"environment":{"b":"2","a":"1"},"registries":[{"port":443,"host":"packages.example.com"}]}';
    const egress = parseEgress(text);
    expect(JSON.stringify(egress)).toBe('{"registries":[{"host":"packages.example.com","port":443}],"environment":{"a":"1","b":"2"}}');
    expect(parseEgress('{}')).toEqual({ registries: [], environment: {} });
    expect(parseEgress('{"clusterRanges":[]}')).toEqual({ registries: [], environment: {} });
    expect(parseEgress('{"clusterRanges":["34.118.224.0/20","2600:1900::/28"]}').clusterRanges).toEqual([
      '34.118.224.0/20',
      '2600:1900::/28',
    ]);
  });

  it.each([
    ['nonsense', 'it is not JSON'],
    ['[]', 'it is not an object'],
    ['{"hosts":[]}', 'hosts is not known'],
    ['{"registries":{}}', 'registries is not a list'],
    ['{"registries":[{"host":"a","port":443},{"host":"https://b","port":443}]}', 'registries[1].host is not the name of a host'],
    ['{"registries":[{"host":"a","port":"443"}]}', 'registries[0].port is not a port'],
    ['{"registries":[{"host":"a","port":65536}]}', 'registries[0].port is not a port'],
    ['{"registries":[{"host":"a","port":1,"path":"/"}]}', 'registries[0].path is not known'],
    ['{"clusterRanges":{}}', 'clusterRanges is not a list'],
    ['{"clusterRanges":["10.0.0.0/8","10.0.0.0"]}', 'clusterRanges[1] is not a range of addresses'],
    ['{"clusterRanges":["10.0.0.0/33"]}', 'clusterRanges[0] is not a range of addresses'],
    ['{"clusterRanges":["0.0.0.0/0"]}', 'clusterRanges[0] is not a range of addresses'],
    ['{"clusterRanges":["fd00::%e/64"]}', 'clusterRanges[0] is not a range of addresses'],
    ['{"environment":[]}', 'environment is not an object'],
    ['{"environment":{"a b":"1"}}', 'environment has "a b"'],
    ['{"environment":{"a":1}}', 'environment.a is not a text'],
  ])('refuses %s', (text, message) => {
    expect(() => parseEgress(text)).toThrow(message);
  });
});
