import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * First port, and the port after the last. All are below the ephemeral ports, so that the system does not assign one
 * between two uses. Ports that a process uses again and again are `leased`.
 */
const RANGES = { once: [12_000, 27_000], leased: [28_000, 32_000] } as const

/** Returns a free loopback port. */
export const freePort = async (use: keyof typeof RANGES = 'once'): Promise<number> => {
  for (;;) {
    const [first, behind] = RANGES[use]
    const port = randomInt(first, behind)
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
