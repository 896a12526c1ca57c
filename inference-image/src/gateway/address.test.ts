// Where requests go, and with which header the key goes there, by how people write the address of a model.
import { describe, expect, it } from 'vitest';
import { chatAddress, messagesAddress } from './providers/address.ts';
import { refuse, stream, chunk, tell, type ProviderCall } from './testing/provider.ts';
import { staging } from './testing/staging.ts';

const { provider, stage } = staging((one) => ({ credentialFile: one.path('key') }));
const key = 'sk-first-key';
const bearer = { authorization: `Bearer ${key}`, 'api-key': undefined };
const azure = { authorization: undefined, 'api-key': key };

const seen = ({ path, headers }: ProviderCall): readonly unknown[] => [
  path,
  { authorization: headers['authorization'], 'api-key': headers['api-key'] },
];

describe('a request', () => {
  it.each<readonly [what: string, base: string, path: string, headers: object]>([
    ['as it is meant', '/v1', '/v1/chat/completions', bearer],
    ['with a slash at its end', '/v1/', '/v1/chat/completions', bearer],
    ['with the chat route', '/v1/chat/completions', '/v1/chat/completions', bearer],
    ['without a path', '', '/chat/completions', bearer],
    ['of Azure', '/openai/v1/', '/openai/v1/chat/completions', bearer],
    ['of a deployment', '/openai/deployments/gpt-5.1', '/openai/deployments/gpt-5.1/chat/completions?api-version=2024-10-21', azure],
    [
      'of a deployment, with a version',
      '/openai/deployments/o3?api-version=2025-04-01-preview',
      '/openai/deployments/o3/chat/completions?api-version=2025-04-01-preview',
      azure,
    ],
    [
      'of a deployment, as the portal shows it',
      '/openai/deployments/o3/chat/completions?api-version=2025-01-01-preview',
      '/openai/deployments/o3/chat/completions?api-version=2025-01-01-preview',
      azure,
    ],
    ['of models of Azure', '/models?api-version=2024-05-01-preview', '/models/chat/completions?api-version=2024-05-01-preview', azure],
  ])('goes to the chat API of an address that is written %s', async (_what, base, path, headers) => {
    await stage.models({ baseURLs: [`${new URL(provider.url).origin}${base}`], credentialFile: stage.path('key') });
    provider.play(tell([{ content: 'Hello.' }]), stream([chunk({ content: 'Hello.' }, 'stop')]));
    expect((await stage.ask()).status).toBe(200);
    expect((await stage.stream()).done).toBe(true);
    expect(provider.calls.map(seen)).toEqual([
      [path, headers],
      [path, headers],
    ]);
  });

  it('to a deployment without a key has neither header, and one that is not there is named', async () => {
    await stage.models({ baseURLs: [`${new URL(provider.url).origin}/openai/deployments/o3`] });
    provider.play(refuse(404, { error: { code: 'DeploymentNotFound', message: 'The API deployment for this resource does not exist.' } }));
    expect((await stage.ask()).body.error).toMatchObject({
      code: 'ModelNotAtProvider',
      message: expect.stringMatching(/correct the deployment in baseURL$/) as string,
    });
    expect(provider.calls[0]?.headers).not.toHaveProperty('api-key');
    expect(provider.calls[0]?.headers).not.toHaveProperty('authorization');
  });

  it.each(['', '/', '/v1', '/v1/', '/v1/messages', '/v1/messages/'])('of the Messages API goes to it from %j', async (base) => {
    await stage.models({ engine: 'Anthropic', baseURLs: [`${new URL(provider.url).origin}/anthropic${base}`] });
    provider.play(refuse(200, { content: [{ type: 'text', text: 'Hello.' }] }));
    expect((await stage.ask()).status).toBe(200);
    expect(provider.calls.map(({ path }) => path)).toEqual(['/anthropic/v1/messages']);
  });
});

it('an address of Azure keeps its host, and what is no address stays as it is', () => {
  expect(chatAddress('https://name.openai.azure.com/openai/deployments/gpt')).toEqual({
    url: 'https://name.openai.azure.com/openai/deployments/gpt?api-version=2024-10-21',
    hasOwnHeader: true,
  });
  expect(chatAddress('https://name.openai.azure.com/openai/v1')).toEqual({
    url: 'https://name.openai.azure.com/openai/v1',
    hasOwnHeader: false,
  });
  expect([chatAddress('https://10.0.0.256').url, messagesAddress('https://10.0.0.256')]).toEqual(Array(2).fill('https://10.0.0.256'));
});
