import { expect, test } from 'vitest';
import { proxyOf } from './proxy.ts';

const proxy = 'http://proxy.acme:3128';

test.each([
  ['https://api.acme:6443', {}, undefined],
  ['https://api.acme:6443', { HTTPS_PROXY: proxy }, proxy],
  ['https://api.acme:6443', { https_proxy: 'proxy.acme:3128' }, proxy],
  ['https://api.acme:6443', { HTTP_PROXY: proxy }, undefined],
  ['http://api.acme', { HTTP_PROXY: proxy }, proxy],
  ['https://localhost:6443', { HTTPS_PROXY: proxy }, undefined],
  ['https://127.9.0.1:6443', { HTTPS_PROXY: proxy }, undefined],
  ['https://[::1]:6443', { HTTPS_PROXY: proxy }, undefined],
  ['https://api.acme:6443', { HTTPS_PROXY: proxy, NO_PROXY: '*' }, undefined],
  ['https://api.acme:6443', { HTTPS_PROXY: proxy, NO_PROXY: 'other, ACME' }, undefined],
  ['https://api.acme:6443', { HTTPS_PROXY: proxy, NO_PROXY: 'api.acme:6443' }, undefined],
  ['https://api.acme:6443', { HTTPS_PROXY: proxy, NO_PROXY: 'api.acme:443' }, proxy],
  ['https://acme', { HTTPS_PROXY: proxy, NO_PROXY: '.acme' }, proxy],
  ['https://api.acme', { HTTPS_PROXY: proxy, NO_PROXY: '*.acme' }, undefined],
  ['https://my-acme', { HTTPS_PROXY: proxy, NO_PROXY: 'acme' }, proxy],
  ['https://10.1.2.3:6443', { HTTPS_PROXY: proxy, no_proxy: '10.0.0.0/8' }, undefined],
  ['https://11.1.2.3:6443', { HTTPS_PROXY: proxy, NO_PROXY: '10.0.0.0/8,x/y,10.0.0.0/99' }, proxy],
  ['https://10.1.2.3:6443', { HTTPS_PROXY: proxy, NO_PROXY: '10.1.2.3:6443' }, undefined],
  ['https://[fd00::5]:6443', { HTTPS_PROXY: proxy, NO_PROXY: 'fd00::/8' }, undefined],
  ['https://[fd00::5]:6443', { HTTPS_PROXY: proxy, NO_PROXY: 'fd00::5' }, undefined],
  ['https://[fd00::5]:6443', { HTTPS_PROXY: proxy, NO_PROXY: '[fd00::5]:443' }, proxy],
])('%s with %j', (server, env, expected) => expect(proxyOf(server, env)).toBe(expected));
