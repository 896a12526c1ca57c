import { isIP } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { epochHeader, mcpPath, patchBounds } from '@agentfleet/protocol/keeper';
// Not from the client's index: its HTTP client would be most of what an idle keeper loads.
import { newExecId } from '../client/client.ts';
import { KeeperError } from '../base/failure.ts';
import type { Keeper } from '../keeper/keeper.ts';
import { McpFacade, type McpLibrary } from './facade.ts';
import { compileCheck } from '../http/index.ts';

const bodyLimit = 2 * patchBounds.diffBytes + 1024 * 1024;

/** The Model Context Protocol, in its own scope: checks the token, then the origin, then the body. */
export function mcpRoutes(app: FastifyInstance, keeper: Keeper): void {
  let opening: Promise<McpFacade> | undefined;
  const facade = (): Promise<McpFacade> => (opening ??= open(keeper));

  app.addHook('onRequest', async (request) => {
    await keeper.authenticate(request.headers.authorization);
    assertOrigin(request, keeper.parts.config.pod.name);
  });

  app.route({
    method: ['GET', 'POST', 'DELETE'],
    url: mcpPath,
    bodyLimit,
    handler: async (request, reply) => {
      const header = request.headers[epochHeader];
      const epoch = Array.isArray(header) ? header[0] : header;
      const mcp = await facade();
      reply.hijack();
      const { method, url } = request;
      await mcp.serve({ request: Object.assign(request.raw, { method, url }), response: reply.raw, body: request.body, epoch });
    },
  });
}

/** The SDK, which is large, is loaded with the first request for it: an idle keeper stays small. In the image it is a bundle beside the keeper's. */
async function open(keeper: Keeper): Promise<McpFacade> {
  const file = import.meta.url.endsWith('.ts') ? './library.ts' : './keeper-mcp.js';
  // Not a literal, because the bundler would include it.
  const library = (await import(/* @vite-ignore */ new URL(file, import.meta.url).href)) as McpLibrary;
  return new McpFacade({ library, keeper, newId: newExecId, compile: compileCheck });
}

/**
 * Refuses requests of a browser for a foreign page, and host names that an attacker can point at this address. The
 * protocol requires it, although a refused caller had a token. @throws KeeperError `AF_FORBIDDEN`
 */
function assertOrigin({ headers: { host = '', origin } }: FastifyRequest, podName: string): void {
  const cure = 'call the keeper by its address or its name in the cluster, from a program that is no web page';
  if (!isOwnHost(hostOf(`http://${host}`), podName))
    throw new KeeperError('AF_FORBIDDEN', `host: ${host.slice(0, 200)} is not this sandbox`, { cure });
  if (origin !== undefined && !isLoopback(hostOf(origin)))
    throw new KeeperError('AF_FORBIDDEN', `origin: pages of ${origin.slice(0, 200)} may not call a sandbox`, { cure });
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, '') : '';
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function isOwnHost(host: string, podName: string): boolean {
  return isLoopback(host) || isIP(host) !== 0 || host === podName || /\.(?:svc|pod)(?:\.cluster\.local)?$/.test(host);
}
