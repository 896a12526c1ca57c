import { expect, it } from 'vitest';
import { Api } from './chat.ts';
import { rulesKey, type Rule } from '../schema/index.ts';

/** The pattern of the addresses that admission takes: syntax that CEL and JavaScript read alike. */
function patternOf(field: 'baseURL' | 'proxyURL'): RegExp {
  const [{ rule }] = (Api.properties[field] as unknown as { readonly [rulesKey]: readonly [Rule] })[rulesKey];
  const [, text = ''] = /matches\('([^']+)'\)/.exec(rule) ?? [];
  return new RegExp(text.replaceAll('\\\\', '\\'));
}

const deployment = 'https://name.openai.azure.com/openai/deployments/gpt-5.1_x';

it.each([
  'https://llm.example.com',
  'https://llm.example.com./v1/',
  'http://llm:8000/v1',
  'http://llm.team-1.svc:8000/v1',
  'http://7b-model.models.svc.cluster.local/v1',
  'http://3090-box/v1',
  'http://10.0.0.255:65535/v1',
  'http://[fd00::1]:8080/v1',
  'https://llm.example.com/v1/chat/completions',
  deployment,
  `${deployment}?api-version=2025-04-01-preview`,
])('%s is an address of a model, and one that programs read', (url) => {
  expect(url).toMatch(patternOf('baseURL'));
  expect(URL.canParse(url)).toBe(true);
});

it.each([
  'http://',
  'llm.example.com/v1',
  'https://10.0.0.256',
  'https://10.0.0.09/v1',
  'https://10.1/v1',
  'https://1.2.3.4.5/v1',
  'http://llm:65536/v1',
  'http://llm:99999/v1',
  'http://llm..svc/v1',
  'https://user:pass@llm.example.com/v1',
  'https://llm.example.com /v1',
  ' https://llm.example.com/v1',
  'https://llm.example.com/v1?key=x',
  'https://llm.example.com/v1#x',
  `${deployment}?api-version=2025-04-01&key=x`,
  `${deployment}?api-version=`,
])('%s is no address of a model', (url) => {
  expect(url).not.toMatch(patternOf('baseURL'));
});

it('a proxy has no path and no query', () => {
  expect('http://proxy.example.com:3128/').toMatch(patternOf('proxyURL'));
  for (const url of ['http://proxy:3128/x', 'http://proxy:3128?api-version=1', 'http://10.0.0.256:3128'])
    expect(url).not.toMatch(patternOf('proxyURL'));
});
