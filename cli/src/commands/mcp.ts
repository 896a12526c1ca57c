import { ClusterClient } from '@agentfleet/client/cluster';
import { serveHttp, serveStdio, toolsOf } from '../fleetMcp/serve.ts';
import type { CommandContext } from './command.ts';

interface McpFlags {
  /** Port of the loopback; 0: a free one. Absent: standard input and output. */
  readonly http?: number;
  /** Names of the tools that are served; default: all. */
  readonly tools?: readonly string[];
}

/** Serves the fleet to MCP clients with the caller's own credentials. */
export async function mcp({ transport, namespace, signal, print }: CommandContext, { http, tools }: McpFlags): Promise<void> {
  const options = { fleet: new ClusterClient(transport, namespace), tools: toolsOf(tools), signal };
  if (http === undefined) return serveStdio(options);
  await serveHttp({ ...options, port: http }, (url, token) => {
    print(url);
    print(`Authorization: Bearer ${token}`);
  });
}
