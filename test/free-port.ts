import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ephemeral ports, so that the system does not assign one between two uses. */
const [FIRST, BEHIND] = [12_000, 27_000]

/** Returns a free loopback port. */
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
