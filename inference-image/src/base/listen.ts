import type { FastifyInstance } from 'fastify';

/** Address of a server. */
export interface Listen {
  readonly host: string;
  readonly port: number;
}

/** @throws Error for an invalid address */
export function parseListen(value: string): Listen {
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(value);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) throw new Error(`"${value}" is not an address; write [::]:7080 or 0.0.0.0:7080`);
  return { host: match[1] ?? (match[2] || '::'), port };
}

/** Listens; where there is no IPv6, on all addresses of IPv4. */
export async function listen(app: FastifyInstance, { host, port }: Listen): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (error) {
    // No IPv6 on this node.
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (host !== '::' || (code !== 'EAFNOSUPPORT' && code !== 'EADDRNOTAVAIL')) throw error;
    return app.listen({ host: '0.0.0.0', port });
  }
}
