import { randomUUID } from 'node:crypto'
import t from 'tap'
import { keyPlaces } from '../../../src/adapters/embedded/writer/write-rows.ts'

void t.test('the hash table of the writer gives each key its own number', async (t) => {
  const keys: string[] = []
  const places = keyPlaces((number) => keys[number - 1]!)
  for (let n = 1; n <= 150_000; n++) {
    const key = n % 3 === 0 ? randomUUID() : `default+${n}`
    if (places.find(key) !== undefined || places.take(key) !== n) t.fail(`${key} was there before it came`)
    keys.push(key)
  }
  t.equal(places.size(), keys.length)
  t.strictSame(
    keys.filter((key, n) => places.find(key) !== n + 1 || places.take(key) !== n + 1),
    [],
  )
  t.equal(places.size(), keys.length)
  t.equal(places.find('nobody'), undefined)
})

void t.test('the hash table of the writer distinguishes keys with equal hashes', async (t) => {
  const asked: number[] = []
  const places = keyPlaces((number) => (asked.push(number), 'another key'))
  t.equal(places.take('a'), 1)
  t.equal(places.take('a'), 2, 'what stands at the first is another key')
  t.strictSame(asked, [1])
})
