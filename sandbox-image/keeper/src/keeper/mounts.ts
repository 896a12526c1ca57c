import { Socket } from 'node:net';
import { encodeFrame, FrameParser, frameLimits } from '../link/index.ts';
import type { Mounter } from '../snapshot/index.ts';

/** The parent process, `runner mount`, over the descriptor that it passed on. Only it may mount; its end ends this process. */
class ParentMounter {
  readonly #socket: Socket;
  readonly #parser = new FrameParser(frameLimits);
  readonly #waiting = new Map<number, { readonly resolve: () => void; readonly reject: (error: Error) => void }>();
  #id = 0;
  #gone: Error | null = null;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', (error) => this.#end(error));
    socket.on('close', () => this.#end(new Error('the process that mounts is gone')));
  }

  ask(request: Parameters<Mounter>[0]): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const id = ++this.#id;
    if (this.#gone !== null) reject(this.#gone);
    else {
      this.#waiting.set(id, { resolve, reject });
      this.#socket.write(encodeFrame({ ...request, id }));
    }
    return promise;
  }

  #read(chunk: Buffer): void {
    this.#parser.push(chunk);
    try {
      for (let frame = this.#parser.next(); frame !== null; frame = this.#parser.next()) {
        const { t, id, error } = frame.header;
        const waiting = this.#waiting.get(Number(id));
        this.#waiting.delete(Number(id));
        if (t === 'done') waiting?.resolve();
        else waiting?.reject(new Error(`the layers cannot be used: ${String(error)}`));
      }
    } catch (error) {
      this.#socket.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #end(error: Error): void {
    this.#gone ??= error;
    for (const { reject } of this.#waiting.values()) reject(this.#gone);
    this.#waiting.clear();
  }
}

/** Takes over the descriptor that `runner mount` names in AGENTFLEET_MOUNTER_FD. */
export function parentMounter(fd: number): Mounter {
  const parent = new ParentMounter(new Socket({ fd, readable: true, writable: true }));
  return (request) => parent.ask(request);
}
