import t from 'tap'
import { logContract } from '../../contracts/log.ts'
import { portOf } from './store.ts'

void t.test('Log', async (t) => logContract(t, (t) => portOf(t, 'log')))
