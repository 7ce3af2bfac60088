import t from 'tap'
import { queueContract } from '../../contracts/queue.ts'
import { portOf } from './store.ts'

void t.test('Queue', async (t) => queueContract(t, (t) => portOf(t, 'queue')))
