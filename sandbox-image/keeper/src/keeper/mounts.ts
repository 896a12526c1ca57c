import { Socket } from 'node:net';
import { encodeFrame, FrameParser, frameLimits } from '../link/index.ts';
import type { LayeredRoot, Mounter } from '../snapshot/index.ts';

type Request =
  { readonly t: 'mount' | 'flatten'; readonly roots: readonly LayeredRoot[] } | { readonly t: 'remove'; readonly paths: readonly string[] };

/** The parent process, `runner mount`, over the descriptor that it passed on. Only it may mount; its end ends this process. */
class ParentMounter implements Mounter {
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

  mount(roots: readonly LayeredRoot[]): Promise<void> {
    return this.#ask({ t: 'mount', roots });
  }

  flatten(roots: readonly LayeredRoot[]): Promise<void> {
    return this.#ask({ t: 'flatten', roots });
  }

  remove(paths: readonly string[]): Promise<void> {
    return this.#ask({ t: 'remove', paths });
  }

  #ask(request: Request): Promise<void> {
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
  return new ParentMounter(new Socket({ fd, readable: true, writable: true }));
}
