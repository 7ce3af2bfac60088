// Attacks a service in every way at once, for so many seconds. What attackers take of the machine is not taken from the service and its clients,
// as far as the system can tell: they have the lowest priority.
import { constants, setPriority } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { attacks, type World } from '../test/http/together-world.ts'
import { requestsTo } from '../test/http/watching.ts'

/** Milliseconds for which an attacker holds its connections open. */
const HELD_MS = 1_000

setPriority(constants.priority.PRIORITY_LOW)
const known = JSON.parse(process.argv[2]!) as Omit<World, 'request'>
const world: World = { ...known, request: requestsTo(known.url) }
const end = performance.now() + Number(process.argv[3]) * 1000
await Promise.all(
  Object.values(attacks(world)).map(async (attack) => {
    for (let n = 0; performance.now() < end; n++) {
      const held = await attack(n)
      await pause(held.length === 0 ? 0 : HELD_MS)
      for (const socket of held) socket.destroy()
    }
  }),
)
process.exit()
