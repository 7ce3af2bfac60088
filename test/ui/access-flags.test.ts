import { inReachOfEverybody } from './matrix.ts'
import { ofEvaluate, ofFlags } from './screens.ts'

await inReachOfEverybody([...ofFlags, ...ofEvaluate])
