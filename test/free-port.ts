import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that systems give to whoever asks for any, so that none of those is taken between two uses of one of these. */
const [FIRST, BEHIND] = [12_000, 27_000]

/** A port of loopback on which nobody listens. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(FIRST, BEHIND)
    const server = createServer().listen(port, '127.0.0.1')
    const free = await once(server, 'listening').then(
      () => true,
      ({ code }: NodeJS.ErrnoException) => {
        if (code !== 'EADDRINUSE') throw new Error(`port ${port}: ${code}`)
        return false
      },
    )
    if (!free) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
