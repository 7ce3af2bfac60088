import { openBullmq } from '../../../src/adapters/redis/queue.ts'
import { systemClock } from '../../../src/base/clock.ts'

/** An instance whose run never ends. It reports its start and waits to be killed. */
const [url = '', prefix = ''] = process.argv.slice(2)
const ignore = () => undefined
const health = { failed: ignore, worked: ignore }
const queue = await openBullmq({ url }, { clock: systemClock, prefix, health, onError: ignore })
await queue.schedule({ name: 'long', every: 600_000, run: () => new Promise(() => process.stdout.write('began\n')) })
setInterval(() => undefined, 1000)
