// A service that watches itself: a parent process asks for the most that it did before it looked whether others must have a turn.
import { blocksTaken } from '../work.ts'
import { start } from '../../src/app/start.ts'
import { systemClock } from '../../src/clock.ts'
import { loadConfig } from '../../src/config/load.ts'

const flags = JSON.parse(process.argv[2]!) as Record<string, string>
/** Of one step: blocks of JavaScript, and characters that went through JSON, which is not made of blocks. */
const most = { blocks: 0, characters: 0 }
let characters = 0
let watching = false
let taken = 0

const LARGE = 10_000
const SHORT_MS = 1
Error.stackTraceLimit = 50
/** What is written to the read models comes behind the answer: it is of no request, and can come in the time of any. */
const isOfRequest = (length: number): boolean => length < LARGE || !new Error().stack?.includes('/engine/view-writer')
const count = (text: string | undefined): void => {
  const length = text?.length ?? 0
  if (watching && isOfRequest(length)) characters += length
}
const { parse, stringify } = JSON
JSON.parse = (text: string, reviver) => {
  count(text)
  return parse(text, reviver) as unknown
}
JSON.stringify = (...given: [never]) => {
  const text = stringify(...given)
  count(text)
  return text
}

/** Only work in slices asks the machine for the time by itself: there it yields, if it has taken long. Everything else asks the clock. */
const now = performance.now.bind(performance)
Object.assign(systemClock, { monotonic: now })

const takeBlocks = (): void => {
  most.blocks = Math.max(most.blocks, blocksTaken())
  taken = now()
}
/** To count blocks takes longer than a short step: those of many short ones are counted together. */
const endStep = (): void => {
  if (!watching) return
  most.characters = Math.max(most.characters, characters)
  characters = 0
  if (now() - taken >= SHORT_MS) takeBlocks()
}
performance.now = () => {
  endStep()
  return now()
}
const turn = (): void => {
  if (!watching) return
  endStep()
  takeBlocks()
  setImmediate(turn)
}
const running = await start(loadConfig({ env: {}, flags }).config)

const answers: Readonly<Record<string, () => void>> = {
  watch: () => {
    takeBlocks()
    Object.assign(most, { blocks: 0, characters: 0 })
    watching = true
    setImmediate(turn)
    process.send?.({})
  },
  most: () => {
    endStep()
    takeBlocks()
    watching = false
    process.send?.(most)
  },
  close: () => {
    watching = false
    void running.close().then(() => process.exit(0))
  },
}
process.on('message', (message) => answers[String(message)]?.())
process.send?.({ url: running.url })
