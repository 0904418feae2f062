# Invoices and how they are paid.
Import-Module Gateway

enum State {
    Open
    Paid
}

class Invoice {
    [string] $Number
    [State] $State

    [bool] Pay([string] $card) {
        if ($this.State -eq 'Paid') {
            return $false
        }
        return $true
    }
}

# Pays it at most once.
function Invoke-Payment {
    param([Invoice] $Invoice, [string] $Card)
    if ($Invoice.State) {
        Invoke-Charge -Card $Card
    }
    Write-Output (Get-Total $Invoice)
}

function Get-Total($Invoice) {
    $sum = 0
    foreach ($line in $Invoice.Lines) { $sum += $line.Price }
    return $sum
}
