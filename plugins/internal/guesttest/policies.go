package guesttest

import "github.com/sluice-dev/sluice/plugins/abi"

// Admitter admits every row, with the number in max_tokens_cap so that a test can tell who decided.
func Admitter(mark int32) []byte { return Policy(Admit(mark)) }

// Admit is the hook of Admitter.
func Admit(mark int32) Func {
	return Hook(abi.ExportAdmit, EachRow(abi.VerdictSize, verdict(abi.ActionAdmit, mark)), I32(0))
}

// verdict writes one row's verdict at local 2, without overrides.
func verdict(a abi.Action, mark int32) Code {
	return Seq(
		Get(2), I32(int32(a)|0xff<<8), Store32(0), // class_override -1
		Get(2), I32(mark), Store32(16), // max_tokens_cap
		Get(2), I32(-1), Store32(20), // speculation_cap
	)
}

// Rejecter rejects the rows whose id is at most the given one, and has no opinion on the others.
func Rejecter(id int64, status int32) []byte {
	row := Seq(Get(1), I32(abi.RowSize), Mul32)
	return Policy(Hook(abi.ExportAdmit, EachRow(abi.VerdictSize,
		row, Load64(RowsPtr), I64(id), GtS64, Eqz32,
		If(Get(2), I32(int32(abi.ActionReject)|0xff<<8|status<<16), Store32(0)),
	), I32(0)))
}

// Breaker admits as Admitter does, except that it runs code first when the state's waiting_requests is the given number:
// that passes the self-test and fails in service.
func Breaker(mark int32, waiting int32, code ...Code) []byte {
	return Policy(Hook(abi.ExportAdmit, When(waiting, code...), EachRow(abi.VerdictSize, verdict(abi.ActionAdmit, mark)), I32(0)))
}

// When runs code if the state's waiting_requests is the given number.
func When(waiting int32, code ...Code) Code {
	const waitingRequests = 44
	return Seq(I32(StatePtr), Load32(waitingRequests), I32(waiting), Sub32, Eqz32, If(code...))
}
