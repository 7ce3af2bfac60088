// A service that watches itself: a parent process asks for the longest time that its event loop stood still.
import { start } from '../../src/app/start.ts'
import { loadConfig } from '../../src/config/load.ts'

const flags = JSON.parse(process.argv[2]!) as Record<string, string>
const running = await start(loadConfig({ env: {}, flags }).config)

let [longest, wall, cpu] = [0, performance.now(), process.cpuUsage()]
const tick = (): void => {
  const [passed, { user, system }] = [performance.now() - wall, process.cpuUsage(cpu)]
  // A machine with other work stops everybody: only time in which this process worked counts.
  longest = Math.max(longest, Math.min(passed, (user + system) / 1000))
  wall = performance.now()
  cpu = process.cpuUsage()
}
const timer = setInterval(tick, 1)

process.on('message', (message) => {
  if (message === 'close') {
    clearInterval(timer)
    void running.close().then(() => process.exit(0))
    return
  }
  tick()
  process.send?.({ longest })
  longest = 0
})
process.send?.({ url: running.url })
